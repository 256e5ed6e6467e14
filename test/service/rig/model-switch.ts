// A switch between a worker and its model. While it is off, every call gets a connection that is
// closed immediately.
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ModelSwitch {
  url: string;
  /** The times of calls while it was off, in monotonic milliseconds. */
  refusedAtMs: number[];
  set(isOn: boolean): void;
  close(): Promise<void>;
}

/** Opens a switch in front of the model at `modelUrl`; it is on. */
export async function openModelSwitch(modelUrl: string): Promise<ModelSwitch> {
  const target = new URL(modelUrl);
  const refusedAtMs: number[] = [];
  let isOn = true;
  // Workers keep their connections: one that ends while they send a call is a fault of the model.
  const server = http.createServer({ keepAliveTimeout: 120_000 }, (request, response) => {
    if (!isOn) {
      refusedAtMs.push(performance.now());
      request.socket.destroy();
      return;
    }
    const { method, url: path, headers } = request;
    const forwarded = http.request(
      { hostname: target.hostname, port: target.port, method, path, headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    forwarded.on('error', () => response.destroy());
    request.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    refusedAtMs,
    set(on) {
      isOn = on;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
