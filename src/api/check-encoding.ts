// The encoding of a body: uncompressed, in UTF-8. Any other is refused before the body is read.
import { MIMEType } from 'node:util';
import type { FastifyRequest } from 'fastify';
import { headOf } from '../core/cut-text.ts';
import { Problem } from './problem.ts';

/** Throws `Problem` 415 when the headers name a compression or another charset. */
export function checkEncoding({ headers }: Pick<FastifyRequest, 'headers'>, mayBeGzip = false): void {
  const encoding = headers['content-encoding'];
  const name = encoding?.trim().toLowerCase() ?? 'identity';
  if (encoding !== undefined && name !== 'identity' && !(mayBeGzip && name === 'gzip')) {
    throw refused('Content-Encoding', encoding, 'Send the body without compression.');
  }
  const charset = charsetOf(headers['content-type']);
  if (charset !== null && !/^utf-?8$/i.test(charset)) {
    throw refused('Content-Type', `charset=${charset}`, 'Send the body in UTF-8.');
  }
}

function refused(name: string, value: string, fix: string): Problem {
  return new Problem('unsupported_media_type', `${name} is ${JSON.stringify(headOf(value, 100))}. ${fix}`, {
    errors: [{ path: name, message: fix }],
  });
}

/** Null without one, and for a type that is none: the server refuses that by itself. */
function charsetOf(contentType: string | undefined): string | null {
  try {
    return contentType === undefined ? null : new MIMEType(contentType).params.get('charset');
  } catch {
    return null;
  }
}
