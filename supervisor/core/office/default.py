"""The office that everybody begins with: an open space with sixteen desks, a meeting room and a kitchen."""

TEXT = """\
##=#E#==#h#==#q=###=ww=h=##
#k.....bb.bb.p.no#P::::::l#
#................#::::::::#
#................#::cccc::#
#.c..c...c..c....#:cTTTTc:#
#.DDDD...DDDD...i#::TTTT::#
#.DDDD...DDDD...i#:cTTTTc:#
#.c..c...c..c....:::cccc::#
#P...............:::::::::#
#................###h#h####
#................#WKCSKmFV#
#.c..c...c..c....#,,,,,,,,#
#.DDDD...DDDD....,,,,,,,,,#
#.DDDD...DDDD....,,,,,,,,,#
#.c..c...c..c....#,,ff,a,n#
#................#,rrrrrr,#
#l..............P#,rrttrr,#
#oo.bb.R.~..xx.P.#Prrrrrrl#
###########################
"""
