// Notifies the tabs of a browser that one of them has signed in: they share the cookie, so
// signed-out tabs can continue.
const CHANNEL = 'holdfast.sign-in';

/** Identifies this tab: a tab ignores its own messages. */
const TAB = `${Date.now()}-${Math.random()}`;

/** Notifies the other tabs. */
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
