// The prompt of a message that begins a new session: its trigger is removed, and when there is no other text the model is
// instructed to greet. The prompt then contains the time, once: the system prompt has none, so that it keeps its bytes.
import { formatUserTime } from './envelope-time.ts';

const RESET_PROMPT = [
  'A new session was started via /new or /reset.',
  'Go through your startup sequence now: read the files that your instructions name before you answer.',
  'Then greet the user in your own voice, as your persona says if you have one, in at most three sentences, and ask what they would like to do.',
  'If the model in use is not the default one, mention the default.',
  'Say nothing about files, tools or other internals.',
].join(' ');

/** The additions to a message that can begin a session. */
export interface ResetRules {
  /** Words that begin a new session, `/new` and `/reset` unless configured. */
  triggers: readonly string[];
  /** When the prompt is built, and the IANA zone of the user. */
  now: { epochMs: number; timezone: string };
}

/** The body that the model is given; `isBare` when it is the reset prompt, which goes without metadata. `rules` null: it begins none. */
export function resetBody(text: string, rules: ResetRules | null): { body: string; isBare: boolean } {
  const trigger = rules === null ? null : findTrigger(text.trim(), rules.triggers);
  if (rules === null || trigger === null) return { body: text, isBare: false };
  const rest = text.trim().slice(trigger.length).replace(/^@\w+/, '').trim();
  return rest === '' ? { body: bareReset(rules), isBare: true } : { body: rest, isBare: false };
}

function bareReset({ now }: ResetRules): string {
  return `${RESET_PROMPT}\nCurrent time: ${formatUserTime(now.epochMs, now.timezone)}`;
}

// Exactly the trigger, or the trigger and a blank, in any case, with or without the name of a bot.
function findTrigger(text: string, triggers: readonly string[]): string | null {
  const lower = text.toLowerCase();
  return (
    triggers.find((trigger) => {
      const word = trigger.toLowerCase();
      return lower.startsWith(word) && /^(?:@\w+)?(?:\s|$)/.test(lower.slice(word.length));
    }) ?? null
  );
}
