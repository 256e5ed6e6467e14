/** A call that Discord refuses, with its status, its code and its words. */
export class DiscordRefusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.name = 'DiscordRefusal';
    this.status = status;
    this.code = code;
  }
}

export const unknownChannel = () => new DiscordRefusal(404, 10_003, 'Unknown Channel');
export const unknownMessage = () => new DiscordRefusal(404, 10_008, 'Unknown Message');
export const invalidForm = (words: string) => new DiscordRefusal(400, 50_035, `Invalid Form Body: ${words}`);
