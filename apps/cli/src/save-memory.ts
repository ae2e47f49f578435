// Memory of a program that runs on: it goes back when there is nothing to do.
import { setFlagsFromString } from 'node:v8'

/**
 * Lets V8 collect when there is nothing to do, instead of keeping what a burst of writes has left: 160 MB where it was
 * 280 (bench/apiserver). Writes get a quarter slower by it, unless `node --min-semi-space-size=8
 * --max-semi-space-size=8` starts the process, as `npm start` does. Called once the program is ready: a start would be
 * interrupted for ten collections that find nothing.
 */
export function saveMemory(): void {
  setFlagsFromString('--memory-saver-mode')
}
