"""The office that everybody begins with: an open space with sixteen desks, a meeting room and a kitchen."""

TEXT = """\
##=#E#=##h###=q=###=ww=h=##
#k..r..bb.bb.p.no#P::::::l#
#................#::::::::#
#................#::cccc::#
#................#:cTTTTc:#
#.c..c...c..c....#::TTTT::#
#.DDDD...DDDD...i#:cTTTTc:#
#.DDDD...DDDD...i:::cccc::#
#.c..c...c..c....:::::::::#
#P...............###h#h####
#................#WKCSKmFV#
#................#,,,,,,,,#
#.c..c...c..c....,,,,,,,,,#
#.DDDD...DDDD....,,,,,,,,,#
#.DDDD...DDDD....#,,ff,a,n#
#.c..c...c..c....#,rrrrrr,#
#l..............P#,rrttrr,#
#oo.bb.R.~..xx.P.#P,,,,,,l#
###########################
"""
