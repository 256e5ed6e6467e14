/** A call that Slack refuses, with its code and further fields of the answer. */
export class Refused extends Error {
  readonly fields: Record<string, unknown>;

  constructor(code: string, fields: Record<string, unknown> = {}) {
    super(code);
    this.name = 'Refused';
    this.fields = fields;
  }
}
