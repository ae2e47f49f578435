// Shows the number of requests on standard error while that is a terminal.

/** Shows requests until it is disposed. */
export interface Progress extends Disposable {
  readonly update: (requests: number) => void
}

/** Requests before anything is shown, and between two updates: a short run shows nothing. */
const step = 25

/** Starts to show progress. */
export function progress(): Progress {
  const { isTTY } = process.stderr
  let isShown = false
  return {
    update: (requests) => {
      if (!isTTY || requests % step !== 0) return
      isShown = true
      process.stderr.write(`\rReading the cluster: ${requests} requests`)
    },
    [Symbol.dispose]: () => {
      // Clear the line: the result is printed next.
      if (isShown) process.stderr.write('\r\u001B[2K')
    },
  }
}
