// `npm run archives`: packs every package into `archives/`, from which the image is built (Dockerfile).
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'

const folder = resolve(import.meta.dirname, '../archives')
rmSync(folder, { recursive: true, force: true })
mkdirSync(folder)
const { status } = spawnSync('npm', ['pack', '--workspaces', '--pack-destination', folder], {
  stdio: ['ignore', 'ignore', 'inherit'],
  shell: process.platform === 'win32',
})
process.exit(status ?? 1)
