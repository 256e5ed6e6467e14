// Marks the keys of the configuration that can change while a process runs, with the effect of a change.
import { z } from 'zod';

/** A key without this is read once, when the process starts: by the pools, the server of the API, the tools, the transports. */
export const reloads = z.registry<{
  /** Completes "a new value is", for the reference. */
  effect: string;
}>();
