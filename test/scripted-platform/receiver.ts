// The address of a bot to which a scripted platform pushes: it keeps what arrives and answers with
// the statuses that a test asks for.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Receiver {
  url: string;
  /** The statuses of the next answers; then 200. */
  answers: number[];
  requests: { headers: http.IncomingHttpHeaders; text: string; body: unknown }[];
  close: () => Promise<void>;
}

export async function openReceiver(): Promise<Receiver> {
  const receiver: Omit<Receiver, 'url' | 'close'> = { answers: [], requests: [] };
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      const isJson = request.headers['content-type'] === 'application/json';
      receiver.requests.push({ headers: request.headers, text, body: isJson ? JSON.parse(text) : text });
      response.writeHead(receiver.answers.shift() ?? 200).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { ...receiver, url: `http://127.0.0.1:${port}/hook`, close };
}
