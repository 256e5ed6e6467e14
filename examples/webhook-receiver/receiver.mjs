// Receives the replies of Holdfast: verifies each signature, handles each delivery once, and prints
// it.
//   HOLDFAST_WEBHOOK_SECRET=whsec_... node receiver.mjs
import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

const BODY_BYTES_MAX = 1_048_576;
const verifier = new Webhook(process.env.HOLDFAST_WEBHOOK_SECRET ?? '');

// Deliveries are sent at least once, so the ids that were handled are kept. Keep them in your
// database, in the transaction that handles the delivery: these are forgotten when the process
// ends.
const handledIds = new Set();

const server = createServer((request, response) => {
  receive(request, response).catch(() => response.destroy());
});

async function receive(request, response) {
  // The signature is over the bytes as they came, so they are verified before they are parsed.
  const body = await readBody(request);
  if (body === null) return response.writeHead(413).end();
  try {
    verifier.verify(body, request.headers);
  } catch {
    return response.writeHead(401).end();
  }
  const delivery = JSON.parse(body);
  if (!handledIds.has(delivery.deliveryId)) {
    handle(delivery);
    handledIds.add(delivery.deliveryId);
  }
  // A 2xx is the acknowledgement: answer it only after the delivery was handled.
  return response.writeHead(204).end();
}

function handle(delivery) {
  const { type, recipient, text, error } = delivery;
  const to =
    recipient === undefined
      ? delivery.sessionKey
      : `${recipient.channel} ${recipient.chatId ?? recipient.id ?? ''}`.trim();
  switch (type) {
    case 'reply':
    case 'message':
    case 'command':
      print(`to ${to}: ${text}`);
      break;
    case 'failure':
      print(`to ${to}: no answer (${error.code})`);
      break;
    default:
      // A type that is newer than this receiver.
      print(`ignored a delivery of type ${type}`);
  }
}

async function readBody(request) {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  print(`listening on http://127.0.0.1:${server.address().port}/`);
});

function print(line) {
  process.stdout.write(`${line}\n`);
}
