/** The prompt to which the scripted model reacts. */
export interface Prompt {
  /** The texts of the prompt, one per message; queued messages in one prompt are separate texts. */
  texts: string[];
  /** Identifies the prompt; short even for a long prompt. */
  key: string;
  /** How many answers the model gave since: the place in the script. */
  position: number;
  /** The texts that came after the model's last answer; empty when only tool results did. */
  latestTexts: string[];
}
