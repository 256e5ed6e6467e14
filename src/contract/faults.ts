// Why something failed, as rows keep it.
import { z } from 'zod';
import { text } from './fields.ts';

/** A stable code and a text for people; null: nothing failed. Some faults carry more. */
export const fault = z
  .looseObject({
    code: text.describe('The code of the error, for programs'),
    message: text.describe('What went wrong, for people'),
  })
  .nullable();
