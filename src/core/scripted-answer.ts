// The mark of the scripted model's answers. The server of the demo and the tests answers like a provider, and its answers are priced like
// those of the model that was asked; by the ids of its messages, every sum says that no money was spent.

/** The prefix of the ids of its messages. */
export const SCRIPTED_ID_START = 'msg_scripted_';

/** True for the id of a message that the scripted model has written. */
export function isScriptedId(id: string | null): boolean {
  return id?.startsWith(SCRIPTED_ID_START) ?? false;
}
