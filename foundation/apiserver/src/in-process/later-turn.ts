// Defers in-process requests to the next iteration of the event loop, so that a sequence of them never starves timers
// and connections.

let next: Promise<void> | undefined

/** Resolves in the next iteration of the event loop; callers of the same iteration share one promise. */
export function laterTurn(): Promise<void> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = undefined
      resolve()
    })
  })
  return next
}
