// A new package, as kpt makes it.
import { stringifyYaml } from '@fairlead/kube'
import { contextPath, packageContext } from './package-context.ts'
import type { PackageFiles } from './package-files.ts'

/** The description of a new package. */
export interface NewPackage {
  readonly name: string
  readonly description?: string
  readonly keywords?: readonly string[]
  readonly site?: string
}

/** Returns the files of a new package: Kptfile, README.md and package context. */
export function newPackageFiles({
  name,
  description = 'sample description',
  keywords = [],
  site = '',
}: NewPackage): PackageFiles {
  const info = [
    ...(site === '' ? [] : [`  site: ${scalar(site)}`]),
    `  description: ${scalar(description)}`,
    ...(keywords.length === 0 ? [] : ['  keywords:', ...keywords.map((keyword) => `  - ${scalar(keyword)}`)]),
  ]
  const kptfile = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: ${scalar(name)}
  annotations:
    config.kubernetes.io/local-config: "true"
info:
${info.join('\n')}
`
  return new Map([
    ['Kptfile', kptfile],
    ['README.md', readme(name, description)],
    [contextPath, packageContext({ name: 'example' })],
  ])
}

function scalar(value: string): string {
  return stringifyYaml(value.replaceAll('\n', ' ')).trimEnd()
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
