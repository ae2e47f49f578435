// The compile cache of the launcher: V8 runs what is in it, so that it must be a folder of the user alone.
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const command = fileURLToPath(new URL('../bin/fairlead.js', import.meta.url))

/** Runs the command with temporary folders of its own. Returns what is in the shared one afterwards. */
async function run(home: string, temporary: string): Promise<readonly string[]> {
  mkdirSync(temporary, { recursive: true })
  const { NODE_COMPILE_CACHE: _cache, XDG_CACHE_HOME: _xdg, ...rest } = process.env
  const env = { ...rest, HOME: home, TMPDIR: temporary }
  const { stdout } = await promisify(execFile)(process.execPath, [command, '--version'], { env })
  expect(stdout).toMatch(/^\d+\.\d+\.\d+/)
  return readdirSync(temporary)
}

test('the command keeps compiled code in a folder of the user, not in the shared temporary one', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-cache-'))
  try {
    expect(await run(folder, join(folder, 'tmp'))).toEqual([])
    const cache = join(folder, '.cache/fairlead/compile-cache')
    expect(statSync(cache).mode & 0o777).toBe(0o700)
    await rm(cache, { recursive: true })
    mkdirSync(cache)
    chmodSync(cache, 0o777)
    expect(await run(folder, join(folder, 'tmp'))).toEqual([])
    expect(readdirSync(cache)).toEqual([])
    expect(existsSync(join(folder, 'tmp/node-compile-cache'))).toBe(false)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
