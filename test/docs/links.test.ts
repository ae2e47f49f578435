// Links in the documentation lead somewhere: to a file that is there, and to a heading in it.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { root } from './reader.ts'

const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((name) => name !== '' && !name.startsWith('test/') && existsSync(join(root, name)))

/** Text without code, in which brackets mean something else. */
function prose(markdown: string): string {
  return markdown.replaceAll(/^```[^]*?^```$/gm, '').replaceAll(/``.*?``|(?<!\]\(|\[)`[^`\n]*`(?!\])/g, '')
}

/** The anchors of a page, as GitHub makes them. */
function anchorsOf(file: string): ReadonlySet<string> {
  const counts = new Map<string, number>()
  const text = readFileSync(file, 'utf8').replaceAll(/^```[^]*?^```$/gm, '')
  return new Set(
    [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => {
      const plain = heading!
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-')
      const count = counts.get(plain) ?? 0
      counts.set(plain, count + 1)
      return count === 0 ? plain : `${plain}-${count}`
    }),
  )
}

const anchors = new Map<string, ReadonlySet<string>>()

function brokenLinks(page: string): string[] {
  const links = [...prose(readFileSync(join(root, page), 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!)
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? join(root, page) : resolve(root, dirname(page), path)
    if (!existsSync(file)) return true
    if (anchor === undefined) return false
    if (statSync(file).isDirectory()) return true
    if (!anchors.has(file)) anchors.set(file, anchorsOf(file))
    return !anchors.get(file)!.has(anchor)
  })
}

test('every link of every page leads somewhere', () => {
  expect(pages).toContain('docs/README.md')
  expect(pages.flatMap((page) => brokenLinks(page).map((link) => `${page}: ${link}`))).toEqual([])
})

test('docs/README.md links to every page of the documentation', () => {
  const shown = [...prose(readFileSync(join(root, 'docs/README.md'), 'utf8')).matchAll(/\]\(([^)#\s]+)/g)].map(
    ([, link]) => join('docs', link!),
  )
  const own = pages.filter((page) => /^docs\/(tutorial|how-to|explanation)\//.test(page))
  expect(own.filter((page) => !shown.includes(page)).map((page) => relative('docs', page))).toEqual([])
})

test('the heading of every decision begins with the number of its file', () => {
  const decisions = pages.filter((page) => /^docs\/decisions\/\d/.test(page))
  const headings = decisions.map((page) => readFileSync(join(root, page), 'utf8').split('\n')[0]!)
  expect(decisions.filter((page, index) => !headings[index]!.startsWith(`# ${/(\d+)/.exec(page)![1]}: `))).toEqual([])
})
