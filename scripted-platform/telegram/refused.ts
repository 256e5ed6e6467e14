// A call that Telegram refuses, in its words.

const TITLES: Record<number, string> = { 400: 'Bad Request', 403: 'Forbidden', 409: 'Conflict' };

export class Refused extends Error {
  readonly status: number;

  /** `description` without the title that Telegram puts before it. */
  constructor(status: number, description: string) {
    const title = TITLES[status];
    super(title === undefined ? description : `${title}: ${description}`);
    this.name = 'Refused';
    this.status = status;
  }
}
