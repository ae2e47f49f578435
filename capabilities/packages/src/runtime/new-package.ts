// The files of a package that `init` makes, and the package context of packages to deploy.
import { stringify } from 'yaml'
import type { Task } from '../api.ts'
import type { PackageFiles } from '../engine/package-files.ts'

const localConfig = { 'config.kubernetes.io/local-config': 'true' }

/** Returns the files of a new package. */
export function newPackage(name: string, init: NonNullable<Task['init']>): PackageFiles {
  const { description = 'sample description', keywords, site } = init
  const kptfile = {
    apiVersion: 'kpt.dev/v1',
    kind: 'Kptfile',
    metadata: { name, annotations: localConfig },
    info: {
      ...(site !== undefined && site !== '' && { site }),
      description: description === '' ? 'sample description' : description,
      ...(keywords !== undefined && keywords.length > 0 && { keywords }),
    },
  }
  return new Map([
    ['Kptfile', yaml(kptfile)],
    ['README.md', readme(name, kptfile.info.description)],
    ['package-context.yaml', packageContext({ name: 'example' })],
  ])
}

/** Returns the file `package-context.yaml`. */
export function packageContext(data: Readonly<Record<string, string>>): string {
  return yaml({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'kptfile.kpt.dev', annotations: localConfig },
    data,
  })
}

function yaml(value: object): string {
  return stringify(value, { indentSeq: false, lineWidth: 0 })
}

function readme(name: string, description: string): string {
  return `# ${name}

## Description
${description}

## Usage

### Fetch the package
\`kpt pkg get REPO_URI[.git]/PKG_PATH[@VERSION] ${name}\`
Details: https://kpt.dev/reference/cli/pkg/get/

### View package content
\`kpt pkg tree ${name}\`
Details: https://kpt.dev/reference/cli/pkg/tree/

### Apply the package
\`\`\`
kpt live init ${name}
kpt live apply ${name} --reconcile-timeout=2m --output=table
\`\`\`
Details: https://kpt.dev/reference/cli/live/
`
}
