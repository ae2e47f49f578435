// Calls in this process are answered on a later turn of the event loop, so that no number of them in a row keeps timers and connections waiting.

let next: Promise<void> | undefined

/** Resolves on the next turn of the event loop, once for all that ask in this one. */
export function laterTurn(): Promise<void> {
  next ??= new Promise((resolve) => {
    setImmediate(() => {
      next = undefined
      resolve()
    })
  })
  return next
}
