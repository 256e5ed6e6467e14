// The faults that calls of a scripted platform meet. A fault waits for calls of a method or a chat,
// meets some of them and is used up.
import { z } from 'zod';

const FAULT_KINDS = ['refuse', 'delay', 'hang', 'close', 'accept-then-close', 'accept-then-hang'] as const;

export const faultSchema = z.strictObject({
  method: z.string().exactOptional().describe('the method that it meets; none: every method'),
  chat: z.coerce.string<string | number>().exactOptional().describe('only calls that concern this chat; none: all'),
  kind: z
    .enum(FAULT_KINDS)
    .default('refuse')
    // prettier-ignore
    .describe(
      '`refuse`: nothing is done; `delay`: done and answered after `delayMs`; `hang`: nothing is done or answered; `close`: nothing is done, and the connection is closed; `accept-then-close`, `accept-then-hang`: done, but the answer is not sent',
    ),
  status: z
    .int()
    .min(200)
    .max(599)
    .default(500)
    .describe('the HTTP status of a refusal; Slack has 200 with the error in `description`'),
  description: z.string().exactOptional().describe("the platform's words of a refusal"),
  // prettier-ignore
  retryAfter: z.int().positive().exactOptional().describe('seconds: the status is 429, and calls that it meets before this time has passed are refused too'),
  delayMs: z.int().nonnegative().default(1000),
  times: z.int().positive().default(1).describe('how many calls it meets'),
  after: z.int().nonnegative().default(0).describe('how many calls pass before the first that it meets'),
});

export type FaultInput = z.input<typeof faultSchema>;
export type Fault = z.output<typeof faultSchema>;

interface ArmedFault extends Fault {
  /** Epoch milliseconds: with `retryAfter`, the end of the time that the platform named. */
  refusesUntil: number;
}

/** What a refused caller receives. */
export interface Refusal {
  status: number;
  description: string | undefined;
  /** Whole seconds. */
  retryAfter: number | undefined;
}

export class Faults {
  #armed: ArmedFault[] = [];

  get armed(): readonly Fault[] {
    return this.#armed;
  }

  /** Throws `ZodError`. */
  arm(fault: FaultInput): void {
    this.#armed.push({ ...faultSchema.parse(fault), refusesUntil: 0 });
  }

  clear(): void {
    this.#armed = [];
  }

  /**
   * The fault that a call meets at a time (epoch milliseconds), and with a refusal what the caller
   * receives; null: none.
   */
  meet(call: { method: string; chat: string | null }, now: number): (Fault & { refusal: Refusal }) | null {
    for (const fault of this.#armed) {
      if (fault.method !== undefined && fault.method !== call.method) continue;
      if (fault.chat !== undefined && fault.chat !== call.chat) continue;
      if (now < fault.refusesUntil) return { ...fault, refusal: refusalOf(fault, fault.refusesUntil - now) };
      if (fault.times === 0) continue;
      if (fault.after > 0) {
        fault.after -= 1;
        continue;
      }
      fault.times -= 1;
      const waitMs = (fault.retryAfter ?? 0) * 1000;
      fault.refusesUntil = waitMs === 0 ? 0 : now + waitMs;
      this.#armed = this.#armed.filter((each) => each.times > 0 || each.refusesUntil > now);
      return { ...fault, refusal: refusalOf(fault, waitMs) };
    }
    return null;
  }
}

function refusalOf({ status, description, retryAfter }: Fault, waitMs: number): Refusal {
  if (retryAfter === undefined) return { status, description, retryAfter };
  return { status: 429, description, retryAfter: Math.ceil(waitMs / 1000) };
}
