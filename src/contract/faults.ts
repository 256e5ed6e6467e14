// Why something failed, as rows keep it.
import { z } from 'zod';

/** A stable code and a text for people; null: nothing failed. Some faults carry more. */
export const fault = z.looseObject({ code: z.string(), message: z.string() }).nullable();
