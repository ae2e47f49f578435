// Every case that fuzzing ever found holds.
import { expect, test } from 'vitest'
import { readCorpus } from './corpus.ts'
import { violationsOf } from './trial.ts'

test.each([...readCorpus()])('%s', async (_name, { input }) => {
  expect(await violationsOf(input)).toEqual([])
})
