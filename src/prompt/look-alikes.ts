// Characters that look like an ASCII character and that normalisation does not turn into it, as
// code points: the letters from the Unicode Consortium's `confusables.txt` (UTS #39) and others
// that people have used. Characters that look like `I` are listed with `l`.
const CODE_POINTS: Readonly<Record<string, string>> = {
  ' ': '2800',
  '#': '266f',
  '(': '2768 2985 2e28',
  ')': '2769 2986 2e29',
  ',': 'b8 66b 201a 3001 a4f9 fe51',
  ':': '2d0 2f8 589 5c3 703 704 903 a83 1361 16ec 1803 1809 205a 2236 a4fd a789 fe30 11dd9',
  '[': '2045 2308 230a 2772 27e6 27ec 298b 3010 3014 3016 301a',
  ']': '2046 2309 230b 2773 27e7 27ed 298c 3011 3015 3017 301b',
  a: '251 391 3b1 410 430 13aa 15c5 1d00 237a a4ee ab7a 102a0 16f40 1d6a8 1d6c2 1d6e2 1d6fc 1d71c 1d736 1d756 1d770 1d790 1d7aa',
  b: '184 185 299 392 3b2 412 42c 432 44c 13cf 13f4 13fc 1472 15af 15f7 2c82 2c83 a4d0 a7b4 a7b5 ab9f 10282 102a1 10301 16eb6 16ed1 1d6a9 1d6e3 1d71d 1d757 1d791',
  c: '3f2 3f9 421 441 1004 105a 13df 1d04 2ca4 2ca5 a4da abaf 102a2 10302 10415 1043d 1051c 118e9 118f2 1f74c',
  d: '257 501 13a0 13e7 146f 15de 15ea 1d05 a4d2 a4d3 ab70 abb7',
  e: '25b 395 3b5 415 435 454 4bd 13ac 1d07 212e 22ff 2d39 a4f0 ab32 ab7c 10286 118a6 118ae 118c6 118ce 1d6ac 1d6e6 1d720 1d75a 1d794',
  f: '192 3dc 3dd 584 15b4 1e9d a4dd a730 a798 a799 ab35 10287 102a5 10525 118a2 118c2 1d213 1d7ca',
  g: '18d 261 262 50c 50d 581 13c0 13f3 13fb 1d83 a4d6 ab90',
  h: '29c 397 41d 43d 4bb 570 13bb 13c2 157c 2c8e 2c8f a4e7 ab8b ab92 102cf 1d6ae 1d6e8 1d722 1d75c 1d796',
  j: '29d 37f 3f3 408 458 13ab 148d 1d0a a4d9 a7b2 ab7b',
  k: '39a 3ba 41a 43a 13e6 16d5 1d0b 2c94 2c95 a4d7 abb6 10518 1d6b1 1d6eb 1d725 1d75f 1d799',
  l: '131 196 1c0 269 26a 29f 2db 37a 399 3b9 406 456 4c0 4cf 582 5c0 5d5 5df 627 661 6f1 7ca 13a5 13de 14aa 16c1 1fbe 2223 2373 23fd 2c92 2c93 2cd0 2cd1 2d4f a4e1 a4f2 a647 ab75 abae fe8d fe8e ffe8 1028a 10309 10320 1041b 10443 10526 118a3 118b2 118c3 118d2 11dda 11de1 16eaa 16ec5 16f16 16f28 1ccf1 1d22a 1d6a4 1d6b0 1d6ca 1d6ea 1d704 1d724 1d73e 1d75e 1d778 1d798 1d7b2 1d7cf 1d7d9 1d7e3 1d7ed 1d7f7 1e8c7 1ee00 1ee80 1fbf1',
  m: '39c 3bc 3fa 3fb 41c 43c 13b7 15f0 16d6 1d0d 2c98 2c99 a4df ab87 102b0 10311 11700 118e3 1d6b3 1d6ed 1d727 1d761 1d79b',
  n: '274 39d 3b7 43f 578 57c 2c9a 2c9b a4e0 10513 1d6b4 1d6ee 1d728 1d762 1d79c',
  o: '39f 3bf 3c3 3ed 41e 43e 555 585 5e1 647 665 6be 6c1 6d5 6f5 7c0 966 9e6 a66 ae6 b20 b66 be6 c02 c66 c82 ce6 d02 d20 d66 d82 e50 ed0 101d 1040 10ff 12d0 17e0 1d0f 1d11 2c9e 2c9f 2d54 3007 a4f3 ab3d fba6 fba7 fba8 fba9 fbaa fbab fbac fbad fee9 feea feeb feec 10292 102ab 10404 1042c 104c2 104ea 10516 114d0 118b5 118c8 118d5 118d7 118e0 11de0 1ccf0 1d6b6 1d6d0 1d6d4 1d6f0 1d70a 1d70e 1d72a 1d744 1d748 1d764 1d77e 1d782 1d79e 1d7b8 1d7bc 1d7ce 1d7d8 1d7e2 1d7ec 1d7f6 1ee24 1ee64 1ee84 1fbf0',
  p: 'fe 1bf 3a1 3c1 3f1 3f8 420 440 13e2 146d 1d18 2374 2ca2 2ca3 2cce 2ccf a4d1 abb2 10295 1d6b8 1d6d2 1d6e0 1d6f2 1d70c 1d71a 1d72c 1d746 1d754 1d766 1d780 1d78e 1d7a0 1d7ba 1d7c8',
  q: '51b 563 566 2d55',
  r: '1a6 27e 280 433 13a1 13d2 1587 1d26 2c85 a4e3 ab47 ab48 ab71 ab81 aba2 104b4 104dc 16f35 1d216',
  s: '1bd 282 405 455 54f 57f d1f 13d5 13da a4e2 a731 aba5 abaa 10296 10420 10448 118c1 16f3a',
  t: '167 3a4 3c4 422 442 13a2 1d1b 22a4 27d9 2ca6 2ca7 a4d4 ab72 10297 102b1 10315 118bc 16f0a 1d6bb 1d6f5 1d72f 1d769 1d7a3 1f768',
  u: '28b 3c5 54d 57d 1200 144c 1d1c 222a 22c3 a4f4 a79f ab4e ab52 104ce 104f6 118b8 118d8 16f42 1d6d6 1d710 1d74a 1d784 1d7be',
  v: '3bd 474 475 5d8 667 6f7 13d9 142f 1d20 2228 22c1 2d38 a4e6 a6df aba9 1051d 11706 118a0 118c0 16f08 1d20d 1d6ce 1d708 1d742 1d77c 1d7b6',
  w: '26f 3c9 448 461 51c 51d 561 13b3 13d4 1d21 2cbd a4ea ab83 aba4 1170a 1170e 1170f 118e6 118ef',
  x: 'd7 3a7 3c7 425 445 1541 157d 166d 166e 16b7 2573 292b 292c 2a2f 2cac 2cad 2d5d a4eb a7b3 ab53 10290 102b4 10317 10322 10527 118ec 1d6be 1d6f8 1d732 1d76c 1d7a6',
  y: '263 28f 3a5 3b3 3d2 423 443 4ae 4af 10e7 13a9 13bd 1d8c 1eff 213d 2ca8 2ca9 a4ec ab5a ab79 ab8d 102b2 118a4 118dc 16f43 1d6bc 1d6c4 1d6f6 1d6fe 1d730 1d738 1d76a 1d772 1d7a4 1d7ac',
  z: '290 396 3b6 13c3 1d22 a4dc ab93 102f5 118a9 118c4 118c9 118e5 1d6ad 1d6e7 1d721 1d75b 1d795',
};

/** The ASCII character, in lower case, that each look-alike resembles. */
export const ASCII_OF = charactersBy(CODE_POINTS);

/** The key of each character of a table of code points. */
export function charactersBy(codePoints: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(codePoints).flatMap(([key, list]) =>
      list.split(' ').map((hex): [string, string] => [String.fromCodePoint(Number.parseInt(hex, 16)), key]),
    ),
  );
}
