// Prints from a step's log which tests failed and why, in at most 60 lines: Vitest's own list of failures, without the tests that
// passed. For other programs: the lines that name an error, then the end of the log. With --names: only the names of failed tests.
import { readFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'

const limit = 60
const file = process.argv.findLast((argument) => !argument.startsWith('--'))
const lines = stripVTControlCharacters(readFileSync(file, 'utf8'))
  .split(/\r?\n/)
  .filter((line) => line.trim() !== '' && !/^\s*[✓↓·]|^(stdout|stderr) \| |^skipped: /.test(line))
  .map((line) => line.slice(0, 300))

const names = [...new Set(lines.filter((line) => /^\s*(FAIL|not ok)\s/.test(line)).map((line) => line.trim()))]
/** Vitest lists failures between a ruled heading and its counts; a program may run it more than once. */
const heading = /^⎯+\s*(Failed (Suites|Tests)|Unhandled (Errors?|Rejections?)|Startup Errors?)/
const lists = []
let isInList = false
for (const line of lines) {
  if (heading.test(line)) isInList = true
  if (isInList && !/^⎯+(\[\d+\/\d+\]⎯*)?$/.test(line)) lists.push(line)
  if (/^\s+(Tests|Duration)\s/.test(line)) isInList = false
}
const errors = lines.filter((line) => /^\s*[×❯✖✗]|\b(error|failed|refused|timed out)\b|Error\b/i.test(line))

/** Returns the first lines that fit; each failure's share is equal, so that none hides the others. */
function shared(all, room) {
  const starts = all.flatMap((line, index) => (/^\s*FAIL\s/.test(line) ? [index] : []))
  if (all.length <= room || starts.length < 2) return all.slice(0, room)
  const share = Math.max(3, Math.floor(room / starts.length))
  const parts = starts.map((start, n) => all.slice(start, starts[n + 1] ?? all.length).slice(0, share))
  return parts.flat().slice(0, room)
}

if (process.argv.includes('--names')) {
  for (const name of names.slice(0, limit)) console.log(name)
} else if (lists.length > 0) {
  const counts = lines.filter((line) => /^\s+(Test Files|Tests|Errors)\s/.test(line)).slice(-3)
  for (const line of [...counts, ...shared(lists, limit - counts.length)]) console.log(line)
} else {
  // A run that was ended from outside, or another program: errors first, then what it did last.
  const found = shared(errors, limit / 2)
  for (const line of [...found, ...lines.slice(-(limit - found.length))]) console.log(line)
}
