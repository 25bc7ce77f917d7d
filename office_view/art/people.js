// @ts-check
/** People, in parts. Signs: S s d skin, H h i hair, T t u top, U its dark, B b v bottom, x shoes, e eyes, m mouth,
 * w white, g glasses, c a mug, n what is worn. Places are pixels of a frame of 16×32. */

/** @typedef {[x: number, y: number, map: string]} Part */

/** @type {Record<string, Part>} */
export const HEAD = {
  down: [3, 3, `
..SSssss..
.Ssssssss.
Ssssssssss
Ssssssssss
Ssssssssss
Ssssssssss
ssssssssss
ssssssssds
.sssssssd.
..sssdd...
`],
  up: [3, 3, `
..ssssss..
.ssssssss.
ssssssssss
ssssssssss
ssssssssss
ssssssssss
ssssssssss
sssssssssd
.ssssssdd.
...sddd...
`],
  right: [4, 3, `
..Ssssss..
.Ssssssss.
.ssssssss.
.ssssssss.
.ssssssss.
.sssssssss
.sssssssss
.ssssssss.
.sssssssd.
...ssssd..
`],
};

/** Eyes and mouths: x, y, width, height of each. @type {Record<string, {eyes: number[][], mouth: number[]}>} */
export const FACE = {
  down: { eyes: [[5, 8], [10, 8]], mouth: [7, 11] },
  right: { eyes: [[11, 8]], mouth: [11, 11] },
};

/** Hair by style and side. @type {Record<string, Record<string, Part>>} */
export const HAIR = {
  short: {
    down: [2, 1, `
....hHHhhh..
..hHHhhhhhh.
.hHhhhhhhhhi
.hhhhhhhhhhi
.hh.hhh.hhhi
.h........hi
.h........i.
`],
    up: [2, 1, `
....hHHhhh..
..hHHhhhhhh.
.hHhhhhhhhhi
.hHhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhii
..hhhhhhhii.
...iiiiiii..
`],
    right: [3, 1, `
...hHHhhh...
.hHHhhhhhh..
hHhhhhhhhhh.
hhhhhhhhhhh.
hhhhhhhh.hh.
hhhhhh......
hhhhh.......
hhhhi.......
.hii........
`],
  },
  part: {
    down: [2, 1, `
...hHHHhhhh.
..hHHhhhhhhh
.hHHhhhhhhhi
.hHhhhhhhhhi
.hhhhhhh.hhi
.hhhhh....hi
.hhh......hi
.h........i.
`],
    up: [2, 1, `
...hHHHhhhh.
..hHHhhhhhhh
.hHHhhhhhhhi
.hHhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
..hhhhhhhii.
....iiiii...
`],
    right: [3, 1, `
..hHHHhhhh..
.hHHhhhhhhh.
hHHhhhhhhhhh
hHhhhhhhhhhh
hhhhhhhhhh..
hhhhhhh.....
hhhhh.......
hhhhi.......
.hhi........
`],
  },
  bob: {
    down: [2, 1, `
...hHHHhhh..
.hHHHhhhhhh.
hHHhhhhhhhhi
hHhhhhhhhhhi
hhhhhhhhhhhi
hhh.hhhh.hhi
hh........hi
hh........hi
hh........hi
hhh......hhi
.hh......hi.
`],
    up: [2, 1, `
...hHHHhhh..
.hHHHhhhhhh.
hHHhhhhhhhhi
hHhhhhhhhhhi
hHhhhhhhhhhi
hhhhhhhhhhhi
hhhhhhhhhhhi
hhhhhhhhhhhi
hhhhhhhhhhhi
hhhhhhhhhhii
.hhhhhhhhii.
..iiiiiiii..
`],
    right: [3, 1, `
..hHHHhhh...
.hHHhhhhhhh.
hHHhhhhhhhh.
hHhhhhhhhhhh
hhhhhhhhh.hh
hhhhhhhh....
hhhhhhh.....
hhhhhhh.....
hhhhhhi.....
hhhhhii.....
.hhhii......
`],
  },
  long: {
    down: [2, 1, `
...hHHHhhh..
.hHHHhhhhhh.
.HHhhhhhhhhi
hHhhhhhhhhhi
hHhhh..hhhhi
hhh......hhi
hh........hi
hh........hi
hh........hi
hhh......hhi
hhh......hhi
hhh......hhi
hhh......hhi
.hh......hi.
`],
    up: [2, 1, `
...hHHHhhh..
.hHHHhhhhhh.
.HHhhhhhhhhi
hHhhhhhhhhhi
hHhhhhhhhhhi
hHhhhhhhhhhi
hhhhhhhhhhhi
hhhhhhhhhhhi
hhhhhhhhhhhi
hhhhhhhhhhhi
hhhhhhhhhhhi
hhhihhhihhhi
hhhihhhihhii
.hhihhhihhi.
..i.ii.iii..
`],
    right: [3, 1, `
..hHHHhhh...
.hHHhhhhhhh.
hHHhhhhhhhh.
hHhhhhhhhhhh
hHhhhhhhh.hh
hhhhhhhh....
hhhhhhh.....
hhhhhhh.....
hhhhhhi.....
hhhhhhi.....
hhhhhhi.....
hhhhhhi.....
hhhhhii.....
.hhhhi......
`],
  },
  bun: {
    down: [2, 0, `
....hHHh....
....hhhi....
...hHHhhh...
..hHhhhhhhh.
.hHhhhhhhhhi
.hhhhhhhhhhi
.hhh....hhhi
.h........hi
`],
    up: [2, 0, `
....hHHh....
....hhhi....
...hHHhhh...
..hHhhhhhhh.
.hHhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
..hhhhhhhii.
...iiiiiii..
`],
    right: [2, 0, `
.hHHh.......
.hhhihHhhh..
..ihHhhhhhh.
..hHhhhhhhhh
..hhhhhhhhhh
..hhhhhhhh..
..hhhhhh....
..hhhhh.....
..hhhi......
...hi.......
`],
  },
  curly: {
    down: [1, 0, `
...hHh.hHhh...
..hHHhhhHhhhh.
.hHhhhHhhhhhhi
.hhHhhhhhHhhhi
hHhhhhHhhhhhhi
hhhhhhhhhhhhhi
hhhh.hh.hh.hhi
hhh........hhi
hhh........hhi
.hh.........hi
.h..........i.
`],
    up: [1, 0, `
...hHh.hHhh...
..hHHhhhHhhhh.
.hHhhhHhhhhhhi
.hhHhhhhhHhhhi
hHhhhhHhhhhhhi
hhhhHhhhhhHhhi
hHhhhhhHhhhhhi
hhhhHhhhhhhhii
hhhhhhhhHhhhhi
.hhhhhhhhhhhi.
.ihhhhhhhhhii.
..iiiiiiiii...
`],
    right: [2, 0, `
..hHh.hHhh...
.hHHhhhHhhhh.
hHhhhHhhhhhh.
hhHhhhhhHhhhh
hhhhhHhhhhhhh
hHhhhhhhhh.h.
hhhhHhhh.....
hhhhhhh......
hHhhhhi......
hhhhhi.......
.hhii........
`],
  },
  ponytail: {
    down: [2, 1, `
...hHHhhhh..
..hHHhhhhhh.
.hHhhhhhhhhi
.hhhhhhhhhhi
.hhh.....hhi
.hh.......hi
.h........i.
`],
    up: [2, 1, `
...hHHhhhh..
..hHHhhhhhh.
.hHhhhhhhhhi
.hhhhhhhhhhi
.hhhhnnhhhhi
.hhhhHhhhhhi
.hhhhHhihhhi
..hhiHhihii.
....hHhi....
....hHhi....
....hhhi....
....hhhi....
.....hi.....
`],
    right: [1, 1, `
....hHHhhhh...
...hHHhhhhhh..
..hHhhhhhhhhh.
..hhhhhhhhhhh.
hhnhhhhhhh.hh.
Hhnhhhhh......
Hhihhhh.......
hhihhi........
hhi...........
hhi...........
hi............
hi............
`],
  },
  bald: {
    down: [2, 4, `
.h........hi
.hh......hhi
.h........hi
`],
    up: [2, 5, `
.hh......hhi
.hhh....hhhi
.hhhhhhhhhhi
..hhhhhhhii.
...iiiiii...
`],
    right: [3, 5, `
.hhhh.......
.hhhhh......
.hhhhi......
..hhi.......
`],
  },
  spiky: {
    down: [2, 0, `
..h..hH..h..
.hHh.hHh.hh.
.hHHhHHhhhhi
.hHHhhhhhhhi
.hhhhhhhhhhi
.hh.hh.hh.hi
.h........hi
`],
    up: [2, 0, `
..h..hH..h..
.hHh.hHh.hh.
.hHHhHHhhhhi
.hHHhhhhhhhi
.hHhhhhhhhhi
.hhhhhhhhhhi
.hhhhhhhhhhi
.hhihhihhihi
..hh.hh.hii.
`],
    right: [3, 0, `
..h..hH..h..
.hHh.hHhhhh.
hHHhHHhhhhhh
hHHhhhhhhhh.
hhhhhhhhhhh.
.hhhhhh.h...
hhhhhh......
.hhhi.......
`],
  },
};

/** @type {Record<string, Part>} */
export const BEARD = {
  down: [3, 9, `
h........i
hh......hi
hhhhhhhhhi
.hhh..hhi.
..hhhhhi..
`],
  right: [5, 9, `
....h....
...hh....
..hhhhhh.
..hhhhhi.
...hhhi..
`],
};

/** @type {Record<string, Part>} */
export const GLASSES = {
  down: [3, 7, `
.ggg..ggg.
g...gg...g
.ggg..ggg.
`],
  right: [6, 7, `
....ggg.
gggg...g
....ggg.
`],
};

/** @type {Record<string, Part>} */
export const HEADPHONES = {
  down: [2, 0, `
...nnnnnn...
..n......n..
............
............
............
............
............
nn........nn
nn........nn
nn........nn
`],
  up: [2, 0, `
...nnnnnn...
..n......n..
............
............
............
............
............
nn........nn
nn........nn
nn........nn
`],
  right: [3, 0, `
....nnn.....
...n........
...n........
...n........
...n........
...n........
...n........
..nnn.......
..nnn.......
..nnn.......
`],
};

/** @type {Record<string, Part>} */
export const TORSO = {
  down: [4, 13, `
.TtssttU
TTttttuu
TttttttU
TttttttU
TttttttU
TttttttU
TttttttU
TtttttuU
UuuuuuuU
`],
  up: [4, 13, `
.TttttuU
TTttttuu
TttttttU
TttttttU
TttttttU
TttttttU
TttttttU
TtttttuU
UuuuuuuU
`],
  right: [5, 13, `
.TtttU
TTtttU
TttttU
TttttU
TttttU
TttttU
TttttU
TttttU
UuuuuU
`],
};

/** Over the torso: a tie, a scarf, an apron. @type {Record<string, Record<string, Part>>} */
export const WORN = {
  tie: { down: [7, 13, `
ww
nn
nn
nn
nn
.n
`], right: [10, 13, `
w
n
n
n
`] },
  scarf: { down: [4, 13, `
nnnnnnnn
.nnnnnn.
.....nn.
.....nn.
.....n..
`], up: [4, 13, `
nnnnnnnn
.nnnnnn.
`], right: [5, 13, `
nnnnnn
nnnnn.
nn....
nn....
`] },
  stripes: { down: [4, 15, `
nnnnnnnn
........
nnnnnnnn
........
nnnnnnnn
`], up: [4, 15, `
nnnnnnnn
........
nnnnnnnn
........
nnnnnnnn
`], right: [5, 15, `
nnnnnn
......
nnnnnn
......
nnnnnn
`] },
  dungarees: { down: [4, 13, `
.b....b.
.b....b.
.bbbbbb.
.Bbbbbv.
.Bbbbbv.
Bbbbbbbv
Bbbbbbbv
Bbbbbbbv
Bbbbbbbv
`], up: [4, 13, `
.b....b.
..b..b..
...bb...
..b..b..
.bbbbbb.
Bbbbbbbv
Bbbbbbbv
Bbbbbbbv
Bbbbbbbv
`], right: [5, 13, `
..b...
..b...
..bbb.
..bbb.
.bbbb.
Bbbbbv
Bbbbbv
Bbbbbv
Bbbbbv
`] },
};

/** Arms by side and pose; `left` and `right` are the viewer's. @type {Record<string, Record<string, Part[]>>} */
export const ARMS = {
  down: {
    down: [[2, 14, `
.T
Tt
Tt
Tt
Tt
Tt
ss
ss
`], [12, 14, `
t.
tU
tU
tU
tU
tU
sd
sd
`]],
    swing1: [[2, 14, `
.T
Tt
Tt
Tt
ts
ss
`], [12, 14, `
t.
tU
tU
tU
tU
tU
tU
sd
sd
`]],
    swing2: [[2, 14, `
.T
Tt
Tt
Tt
Tt
Tt
Tt
ss
ss
`], [12, 14, `
t.
tU
tU
tU
st
sd
`]],
    type1: [[2, 14, `
.T....
Tt....
Tt....
TtUU..
.Ttttt
..ttss
....ss
`], [8, 14, `
....t.
....tU
....tU
..UUtU
tttttU
ss.tU.
.s....
`]],
    type2: [[2, 14, `
.T....
Tt....
Tt....
TtUU..
.Tttt.
..ttss
...ss.
`], [8, 14, `
....t.
....tU
....tU
..UUtU
.ttttU
ssttU.
ss....
`]],
    raise: [[2, 14, `
.T
Tt
Tt
Tt
Tt
Tt
ss
ss
`], [12, 11, `
..ss
..sd
.tU.
ttU.
tU..
t...
`]],
    chin: [[2, 14, `
.T....
Tt....
Tt....
TtU...
.TttUU
..tttt
`], [7, 11, `
.ss....
.sdd...
.dtt...
..tttt.
...tttU
...UttU
....UtU
.....U.
`]],
    sip: [[2, 14, `
.T
Tt
Tt
Tt
Tt
Tt
ss
ss
`], [8, 10, `
ccc...
ccss..
ccss..
..dtt.
...tttU
...UttU
....UtU
`]],
    up: [[0, 2, `
.ss.
.ss.
.Tt.
.Tt.
.Tt.
Tt..
Tt..
Tt..
TtU.
.TtU
..Tt
...T
`], [12, 2, `
.ss.
.sd.
.tU.
.tU.
.tU.
..tU
..tU
..tU
.ttU
.tU.
tU..
t...
`]],
    wave: [[2, 14, `
.T
Tt
Tt
Tt
Tt
Tt
ss
ss
`], [12, 6, `
.ss.
.ss.
.tU.
.tU.
.tU.
.tU.
tU..
tU..
t...
`]],
  },
  right: {
    down: [[7, 14, `
TtU
TtU
TtU
TtU
TtU
TtU
ssd
ss.
`]],
    swing1: [[6, 14, `
.TtU
.TtU
.TtU
TtU.
TtU.
tU..
ss..
ss..
`]],
    swing2: [[7, 14, `
TtU..
TtU..
TtU..
.TtU.
.TttU
..tUs
...ss
`]],
    type1: [[7, 14, `
TtU.....
TtU.....
TttU....
.Ttttts.
..tttsss
`]],
    type2: [[7, 14, `
TtU.....
TtU.....
TttU....
.Ttttss.
..ttttss
`]],
    raise: [[7, 12, `
......ss
......ss
TtUUtt..
TttttU..
TtttU...
.UUU....
`]],
    chin: [[7, 11, `
.....ss
....ssd
Tt..tt.
TtUttU.
TttttU.
.TttU..
`]],
    sip: [[7, 10, `
......ccc
.....sscc
....ssscc
Tt..tt...
TtUttU...
TttttU...
.TttU....
`]],
    up: [[6, 3, `
.ss.
.ss.
.Tt.
.Tt.
.TtU
.TtU
.TtU
.TtU
.TtU
.TtU
.TtU
.TtU
`]],
    wave: [[8, 4, `
..ss.
..ss.
..Tt.
..Tt.
..Tt.
.TtU.
.TtU.
.Tt..
.Tt..
TtU..
TtU..
`]],
  },
};

/** Legs by side and pose. @type {Record<string, Record<string, Part>>} */
export const LEGS = {
  down: {
    stand: [3, 21, `
.Bbbbbbbv.
.Bbbvbbbv.
.Bbv..Bbv.
.Bbv..Bbv.
.Bbv..Bbv.
.Bbv..Bbv.
.xxx..xxx.
.xxx..xxx.
`],
    step1: [3, 21, `
.Bbbbbbbv.
.Bbbvbbbv.
.Bbv..Bbv.
.Bbv..Bbv.
.Bbv..bbv.
.Bbv..xxx.
.xxx..xx..
.xxx......
`],
    step2: [3, 21, `
.Bbbbbbbv.
.Bbbvbbbv.
.Bbv..Bbv.
.Bbv..Bbv.
.Bbb..Bbv.
.xxx..Bbv.
..xx..xxx.
......xxx.
`],
    sit: [3, 21, `
.Bbbbbbbv.
.BbbbBbbv.
.Bbv..Bbv.
.bbv..Bbv.
.xxx..xxx.
`],
  },
  right: {
    stand: [3, 21, `
..Bbbbbv..
..Bbbbbv..
...Bbbv...
...Bbbv...
...Bbbv...
...Bbbv...
...xxxxx..
...xxxxx..
`],
    step1: [3, 21, `
..Bbbbbv..
..Bbbbbv..
..BbbbBv..
.vbv.BBbv.
.vbv..Bbv.
vbv...Bbv.
xxx...xxxx
.xx...xxxx
`],
    step2: [3, 21, `
..Bbbbbv..
..Bbbbbv..
...Bbbbv..
...Bbbv...
...Bbbvv..
..xBbbvx..
..xxxxx...
...xxxxx..
`],
    sit: [4, 20, `
.Bbbbbbbv.
.Bbbbbbbv.
.....Bbbv.
.....Bbv..
.....xxxx.
`],
  },
};
