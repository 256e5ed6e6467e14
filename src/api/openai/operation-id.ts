// The name of a route that exists under /v1 and under /openai/v1, where clients expect the paths of OpenAI.

export function operationIdAt(path: string, name: string): string {
  return path.startsWith('/openai/') ? `${name}ForClients` : name;
}
