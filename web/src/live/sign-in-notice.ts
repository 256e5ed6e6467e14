// Tells the tabs of a browser that one of them has signed in: they have the same cookie, so those that were signed out can continue.
const CHANNEL = 'holdfast.sign-in';

/** Names this tab: a tab does not hear itself. */
const TAB = `${Date.now()}-${Math.random()}`;

/** Tells the other tabs. */
export function noticeSignIn(): void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.postMessage(TAB);
  channel.close();
}

/** Calls back when another tab has signed in; returns the way to end that. */
export function onSignInElsewhere(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }: MessageEvent<string>) => {
    if (data !== TAB) listener();
  });
  return () => channel.close();
}
