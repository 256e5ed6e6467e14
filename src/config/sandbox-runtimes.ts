/** What `sandbox.runtime` may be, with the reason. */
export const SANDBOX_RUNTIMES =
  '"external", by which you state that the worker itself runs inside a container. Holdfast has no sandbox of its own: commands run where the ' +
  'worker runs. Without such a container, set sandbox.enabled to false';
