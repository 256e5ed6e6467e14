// What this browser keeps. Without storage, it loses the choice when the page is closed.

/** What was stored, which only this page writes; `usual` where there is nothing, or no storage. */
export function stored<Value>(key: string, usual: Value): Value {
  try {
    return JSON.parse(localStorage.getItem(key) ?? 'null') ?? usual;
  } catch {
    return usual;
  }
}

export function store(key: string, value: unknown): void {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // As if nothing had been stored.
  }
}
