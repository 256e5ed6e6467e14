// An MCP server over HTTP with a tool that runs as a task: it notes in a file the key of each task
// that begins, and how the task ended. Its tasks are those of all connections. A task without `ms`
// ends at `POST /end`, and after `POST /fail` the server does not find its tasks until the next
// one. `node task-server.ts`, then it prints its port.
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const file = process.env['COUNT_FILE'] ?? '';
const note = (text: string): void => appendFileSync(file, `${text}\n`);
const taskStore = new InMemoryTaskStore();
/** Ends the tasks that were begun without a time. */
const endings: (() => Promise<void>)[] = [];
let isFailing = false;
const getTask = taskStore.getTask.bind(taskStore);
taskStore.getTask = async (...args) => {
  if (isFailing) throw new Error('the store of tasks is away');
  return await getTask(...args);
};

function createTaskServer(): McpServer {
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  const server = new McpServer(
    { name: 'tasks', version: '1.0.0' },
    { capabilities: { tasks }, taskStore, taskMessageQueue: new InMemoryTaskMessageQueue() },
  );
  const inputSchema = { ms: z.number().optional(), end: z.enum(['completed', 'failed']).default('completed') };
  server.experimental.tasks.registerToolTask(
    'long',
    { description: 'takes long', inputSchema, execution: { taskSupport: 'required' } },
    {
      async createTask({ ms, end }, { taskStore: store, _meta }) {
        const key = String(_meta?.['holdfast/idempotencyKey']);
        note(key);
        const task = await store.createTask({ ttl: 600_000, pollInterval: 1_000 });
        const ending = (): Promise<void> => finish(task.taskId, key, end);
        if (ms === undefined) endings.push(ending);
        else setTimeout(() => void ending(), ms);
        return { task };
      },
      getTask: (_input, { taskStore: store, taskId }) => store.getTask(taskId),
      getTaskResult: async (_input, { taskStore: store, taskId }) =>
        // What `finish` has stored.
        (await store.getTaskResult(taskId)) as { content: { type: 'text'; text: string }[] },
    },
  );
  return server;
}

async function finish(taskId: string, key: string, end: 'completed' | 'failed'): Promise<void> {
  const { status } = (await taskStore.getTask(taskId)) ?? {};
  note(`${key} ${status === 'working' ? end : status}`);
  if (status !== 'working') return;
  const text = end === 'completed' ? 'the result of the task' : 'it went wrong';
  await taskStore.storeTaskResult(taskId, end, { content: [{ type: 'text', text }], isError: end === 'failed' });
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const transport = new StreamableHTTPServerTransport();
  await createTaskServer().connect(transport as Parameters<McpServer['connect']>[0]);
  await transport.handleRequest(request, response);
}

const http = createServer((request, response) => {
  if (request.url === '/end') void Promise.all(endings.splice(0).map((end) => end())).then(() => response.end());
  else if (request.url === '/fail') {
    isFailing = !isFailing;
    response.end();
  } else if (request.method === 'POST') void answer(request, response);
  else response.writeHead(405).end();
});
http.listen(Number(process.argv[3] ?? 0), '127.0.0.1', () => {
  process.stdout.write(`${(http.address() as { port: number }).port}\n`);
});
