import { Sandbox, SnippetError } from '@fairlead/actions'
import { systemClock } from '@fairlead/client'
import { afterAll, describe, expect, test } from 'vitest'

const sandbox = new Sandbox()
afterAll(() => sandbox[Symbol.asyncDispose]())

const echo = 'function echo(text) { return text }'
/** Never calls the interrupt handler of the engine: only the end of its thread stops it. */
const hanging = (text: string): string =>
  `function hang() { [].lastIndexOf.call({length: Math.pow(2, 53) - 1}, 1) } // ${text}`

describe('the sandbox', () => {
  test('serves callers in turn, so that one with many calls delays another by one call at a time', async () => {
    const order: string[] = []
    const call = (group: string, text: string): Promise<void> =>
      sandbox.run(echo, [text], { group }).then((value) => void order.push(value))
    await Promise.all([
      ...['a1', 'a2', 'a3', 'a4', 'a5'].map((text) => call('ann', text)),
      ...['b1', 'b2'].map((text) => call('bob', text)),
    ])
    expect(order).toEqual(['a1', 'a2', 'b1', 'a3', 'b2', 'a4', 'a5'])
  })

  test('stops calling a source that takes too long again and again', async () => {
    const source = hanging('again')
    const calls = Array.from({ length: 30 }, () => sandbox.run(source, []).catch((error: unknown) => error))
    const failures = (await Promise.all(calls)) as readonly SnippetError[]
    expect(failures.every((error) => error instanceof SnippetError)).toBe(true)
    expect(failures.filter(({ message }) => message === 'it took longer than 50 ms').length).toBe(3)
    expect(failures.at(-1)!.message).toBe('it took longer than 50 ms again and again; try again later')
    expect(await sandbox.run(echo, ['other'])).toBe('other')
  })

  test('returns a result again to callers that accept one a few seconds old, and runs others anew', async () => {
    let now = 0
    await using own = new Sandbox({
      clock: { timer: (delay, run) => systemClock.timer(delay, run), monotonic: () => now },
    })
    const random = 'function random() { return Math.random() }'
    const first = await own.run(random, ['x'], { mayBeCached: true })
    expect(await own.run(random, ['x'], { mayBeCached: true })).toBe(first)
    expect(await own.run(random, ['y'], { mayBeCached: true })).not.toBe(first)
    expect(await own.run(random, ['x'])).not.toBe(first)
    const second = await own.run(random, ['z'], { mayBeCached: true })
    now = 10_000
    expect(await own.run(random, ['z'], { mayBeCached: true })).not.toBe(second)
  })

  test('drops the calls of a caller who has left', async () => {
    const controller = new AbortController()
    const { signal } = controller
    const current = sandbox.run(echo, ['current'])
    const waiting = sandbox.run(echo, ['waiting'], { signal })
    controller.abort()
    await expect(waiting).rejects.toThrow('no longer waits')
    await expect(sandbox.run(echo, ['late'], { signal })).rejects.toThrow('no longer waits')
    expect(await current).toBe('current')
  })
})
