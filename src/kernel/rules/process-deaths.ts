// When the crash of a process counts against a turn that was open in it. A turn that crashes its
// process will crash the next one, too; a turn that was only open during a crash will not. A claim
// that was lost before its turn was open is judged in the same way, and counts as one. See
// docs/decisions/0032.
//
//   few turns were open           the crash counts against each of them
//   many were                     it counts against none; it is noted as a crash in a crowd
//   it was a suspect              a turn with several crashes in crowds is run as the only suspect
//                                 of its process: then the crash counts
//
// The claim statement applies these numbers, because what they are compared with is known only
// there.

/** The crash of a process with at most this many open turns counts against each of them. */
export const FEW_TURNS_MAX = 2;

/** After this many crashes of crowded processes a turn is a suspect. */
export const CROWD_DEATHS_MAX = 2;

/** After this many counted crashes a turn is given up with a dead letter (G17). */
export const DEATHS_MAX = 3;
