/** The message of an error in an answer, in any of its forms; null when there is none. */
export function errorText(error: unknown): string | null {
  if (error === null || error === undefined) return null;
  if (typeof error === 'string') return error;
  if (typeof error !== 'object') return JSON.stringify(error);
  const { message, code, type } = error as { message?: unknown; code?: unknown; type?: unknown };
  const name = [code, type].find((each) => typeof each === 'string');
  if (typeof message === 'string') return name === undefined ? message : `${message} (${name})`;
  return name ?? JSON.stringify(error);
}
