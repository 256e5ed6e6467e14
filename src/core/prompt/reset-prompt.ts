// What becomes of a message that begins a new session: its trigger is taken off, and when nothing else was said the model is
// told to greet.

const RESET_PROMPT = [
  'A new session was started via /new or /reset.',
  'Go through your startup sequence now: read the files that your instructions name before you answer.',
  'Then greet the user in your own voice, as your persona says if you have one, in at most three sentences, and ask what they would like to do.',
  'If the model in use is not the default one, mention the default.',
  'Say nothing about files, tools or other internals.',
].join(' ');

export interface ResetOptions {
  /** True in the first turn of a session: only then is a trigger a trigger. */
  isNewSession: boolean;
  /** Words that begin a new session, `/new` and `/reset` unless configured. */
  resetTriggers: readonly string[];
}

/** The body that the model is given; `isBare` when it is the reset prompt, which goes without metadata. */
export function resetBody(
  text: string,
  { isNewSession, resetTriggers }: ResetOptions,
): { body: string; isBare: boolean } {
  const trigger = isNewSession ? triggerOf(text.trim(), resetTriggers) : null;
  if (trigger === null) return { body: text, isBare: false };
  const rest = text.trim().slice(trigger.length).trim();
  return rest === '' ? { body: RESET_PROMPT, isBare: true } : { body: rest, isBare: false };
}

// Exactly the trigger, or the trigger and a blank, in any case.
function triggerOf(text: string, triggers: readonly string[]): string | null {
  const lower = text.toLowerCase();
  return (
    triggers.find((trigger) => {
      const word = trigger.toLowerCase();
      return lower === word || (lower.startsWith(word) && /\s/.test(lower.charAt(word.length)));
    }) ?? null
  );
}
