// @ts-check
/** Computers, and what lies on desks. One sign a pixel; palette.js says which colour, and outlines are added around. */

export const monitor = `
..................
.nnnnnnnnnnnnnnnK.
.nUUUUUUUUUUUUUUK.
.nUUUUUUUUUUUUUUK.
.nUUUUUUUUUUUUUUK.
.nUUUUUUUUUUUUUUK.
.nUUUUUUUUUUUUUUK.
.nUUUUUUUUUUUUUUK.
.nUUUUUUUUUUUUUUK.
.nUUUUUUUUUUUUUUK.
.KKKKKKKKKKKKKKKK.
.......mnnn.......
.......mnnn.......
.....nnnnnnnn.....
..................
`;

export const monitor_back = `
..................
.MMMMMMMMMMMMMMMn.
.Mmmmmmmmmmmmmmmn.
.Mmmmmmmmmmmmmmmn.
.Mmmmmnnnnnnmmmmn.
.MmmmmnnMMnnmmmmn.
.Mmmmmnnnnnnmmmmn.
.Mmmmmmmmmmmmmmmn.
.Mmmmmmmmmmmmmmmn.
.Mmmmmmmmmmmmmmmn.
.nnnnnnnnnnnnnnnn.
.......nnnn.......
.......nnnn.......
.....nnnnnnnn.....
..................
`;

export const laptop_back = `
..............
.MMMMMMMMMMMn.
.Mmmmmmmmmmmn.
.Mmmmmmmmmmmn.
.MmmmmCCmmmmn.
.Mmmmmmmmmmmn.
.Mmmmmmmmmmmn.
.nnnnnnnnnnnn.
nnnnnnnnnnnnnn
..............
`;

export const laptop = `
..............
..nnnnnnnnnK..
..nUUUUUUUUK..
..nUUUUUUUUK..
..nUUUUUUUUK..
..nUUUUUUUUK..
..KKKKKKKKKK..
.MMMMMMMMMMMM.
.mnnnnnnnnnnm.
.nnnnnnnnnnnn.
..............
`;

export const keyboard = `
............
.MCCCCCCCCM.
.mmmmmmmmmm.
............
`;

export const mug = `
......
.QQQ..
.Rrrr.
.Rrrr.
.Rrr..
......
`;

export const papers = `
.........
.######..
.##mmm#..
.######..
.kkkkkk..
.........
`;

export const desk_lamp = `
........
..YYYy..
.YYYYYy.
..zzzz..
...z....
...z....
...z....
...z....
..zzz...
.zzzzz..
........
........
`;

export const books = `
........
.rq..yz.
.rqljyz.
.rqljyz.
.rqljyz.
.rqljyz.
........
`;
