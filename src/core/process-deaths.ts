// When the death of a process counts against a turn that was open in it. A turn that kills its process kills it again; a turn that was only
// open when something else killed the process does not. See docs/decisions/0032.
//
//   few turns were open           the death counts against each of them
//   many were                     it counts against none; it is noted as a death in a crowd
//   it was a suspect              a turn with several deaths in crowds is run as the only suspect of its process: then the death counts
//
// The claim statement applies these numbers, because what they are compared with is known only there.

/** The death of a process with at most so many open turns counts against each of them. */
export const FEW_TURNS_MAX = 2;

/** After so many deaths in crowds a turn is a suspect. */
export const CROWD_DEATHS_MAX = 2;

/** After so many deaths that count a turn is given up with a dead letter (G17). */
export const DEATHS_MAX = 3;
