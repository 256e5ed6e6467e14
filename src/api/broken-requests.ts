// Requests that are answered on their connection, past the server: bytes that are not HTTP, and bodies that do not arrive.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { newId } from '../ids.ts';
import { isFormBody, isLinesBody } from './batch-lines.ts';
import { Problem, problemBody } from './problem.ts';

/** Breaks off a request whose body has not arrived in time. How long its answer takes does not matter. */
export function limitArrival(request: FastifyRequest, reply: FastifyReply, msMax: number): void {
  const { raw, headers } = request;
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
  if (!hasBody || isStreamed(request)) return;
  const late = `The body did not arrive within ${msMax / 1000} s. Nothing was done.`;
  const timer = setTimeout(() => answerByHand(new Problem('request_timeout', late), raw.socket), msMax);
  const hasArrived = (): void => clearTimeout(timer);
  // A request that is refused before its body is read has no end, only an answer or a connection that closes.
  raw.once('end', hasArrived).once('close', hasArrived);
  reply.raw.once('finish', hasArrived).once('close', hasArrived);
}

/** True for a route that reads lines by itself. */
export function isLinesRoute(request: FastifyRequest): boolean {
  return request.routeOptions.config.takesLines === true;
}

/** True for a route that reads a form by itself. */
export function isFormRoute(request: FastifyRequest): boolean {
  return request.routeOptions.config.takesForm === true;
}

/** True when the body is read by the route, which watches its arrival. */
function isStreamed(request: FastifyRequest): boolean {
  return (isLinesRoute(request) && isLinesBody(request)) || (isFormRoute(request) && isFormBody(request));
}

/** Answers bytes that are not HTTP, or headers that are too long; there is no request yet. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET') return void socket.destroy();
  answerByHand(new Problem('invalid_request', 'The HTTP request is malformed.'), socket);
}

/** Answers on a connection whose request is not read to its end, and closes it. */
function answerByHand(problem: Problem, socket: Socket): void {
  if (!socket.writable) return void socket.destroy();
  const body = problemBody(problem, '', newId<string>());
  socket.end(
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\ncontent-type: application/problem+json\r\nconnection: close\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}
