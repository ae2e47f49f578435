// The repository `test-blueprints`, rebuilt from its plain files with the commits that its tags name.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dataPath, readDataJson } from '../../support/conformance-data.ts'

interface CommitFacts {
  readonly tag: string
  readonly authorTime: string
  readonly committerTime: string
  readonly message: string
  readonly author?: string
  readonly committer?: string
}

const unknown = 'Porch <porch@kpt.dev>'

/** Pushes the commits and tags to a bare repository. */
export function buildBlueprints(bare: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-blueprints-'))
  const git = (args: readonly string[], environment: Readonly<Record<string, string>> = {}, input = ''): string =>
    execFileSync('git', args, { cwd: folder, env: { ...process.env, ...environment }, input }).toString()
  try {
    git(['init', '--quiet', '-b', 'main'])
    const commits = readDataJson(
      'third-party',
      'porch',
      'test-blueprints',
      'commits.json',
    ) as unknown as readonly CommitFacts[]
    for (const { tag, authorTime, committerTime, message, author = unknown, committer = unknown } of commits) {
      const [name, version] = tag.split('/') as [string, string]
      rmSync(join(folder, name), { recursive: true, force: true })
      cpSync(dataPath('third-party', 'porch', 'test-blueprints', 'tags', name, version), join(folder, name), {
        recursive: true,
      })
      git(['add', '--all'])
      const [authorName, authorEmail] = identity(author)
      const [committerName, committerEmail] = identity(committer)
      git(
        ['commit', '--quiet', '--cleanup=verbatim', '--allow-empty', '-F', '-'],
        {
          GIT_AUTHOR_NAME: authorName,
          GIT_AUTHOR_EMAIL: authorEmail,
          GIT_AUTHOR_DATE: authorTime,
          GIT_COMMITTER_NAME: committerName,
          GIT_COMMITTER_EMAIL: committerEmail,
          GIT_COMMITTER_DATE: committerTime,
        },
        message,
      )
      git(['tag', tag])
    }
    git(['push', '--quiet', bare, 'main', '--tags'])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function identity(text: string): readonly [string, string] {
  const [, name = '', email = ''] = /^(.*) <(.*)>$/.exec(text) ?? []
  return [name, email]
}
