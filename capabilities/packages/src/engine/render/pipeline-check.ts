// Checks of a Kptfile's pipeline before any function runs; the messages are kpt's.
import type { Kptfile, KptFunction } from '../kptfile/kptfile.ts'
import type { PackageFiles } from '../package-files.ts'
import { contentOf, yamlDocuments } from '../yaml/yaml-file.ts'
import { textAt } from './fields.ts'
import { cleanPath } from './function-config.ts'
import { functionName } from './function-image.ts'
import type { PackageFolder } from './package-tree.ts'
import { joinPath } from './package-tree.ts'
import type { PipelineSteps } from './pipeline.ts'

/** Returns the first problem of a pipeline, undefined when there is none. */
export function pipelineProblem({ pipeline }: Kptfile, folder: PackageFolder, files: PackageFiles): string | undefined {
  const lists = { mutators: pipeline?.mutators ?? [], validators: pipeline?.validators ?? [] }
  for (const [list, steps] of Object.entries(lists))
    for (const [index, step] of steps.entries()) {
      const problem = stepProblem(step, `pipeline.${list}[${index}]`, folder, files)
      if (problem !== undefined) return problem
    }
  return undefined
}

/** Returns the problems of `configPath`s that name no resource of the package's own files. */
export function configPathProblem(steps: PipelineSteps, hasPath: (path: string) => boolean): string | undefined {
  const problems = Object.entries(steps).flatMap(([list, functions]: [string, readonly KptFunction[]]) =>
    functions.flatMap(({ configPath = '', name = '', image = '' }, index) => {
      if (configPath === '' || hasPath(cleanPath(configPath))) return []
      const step = JSON.stringify(name === '' ? functionName(image) : name)
      const path = JSON.stringify(configPath)
      return [
        invalid(
          `pipeline.${list}[${index}].configPath`,
          configPath,
          `functionConfig resource for ${list.slice(0, -1)} ${step} is missing from path ${path}, this also occurs if ${path} is part of a subpackage`,
        ),
      ]
    }),
  )
  return problems.length === 0 ? undefined : problems.join('\n')
}

function stepProblem(
  { image = '', exec = '', configMap = {}, configPath = '' }: KptFunction,
  field: string,
  folder: PackageFolder,
  files: PackageFiles,
): string | undefined {
  if (image === '' && exec === '') return invalid(field, '', 'must specify a functon (`image` or `exec`) to execute')
  if (image !== '' && exec !== '')
    return invalid(field, '', 'must not specify both `image` and `exec` at the same time')
  if (Object.keys(configMap).length > 0 && configPath !== '')
    return invalid(field, '', 'functionConfig must not specify both `configMap` and `configPath` at the same time')
  if (configPath === '') return undefined
  const reason = pathProblem(configPath) ?? configProblem(configPath, folder, files)
  return reason === undefined ? undefined : invalid(`${field}.configPath`, configPath, reason)
}

function pathProblem(configPath: string): string | undefined {
  const path = cleanPath(configPath)
  if (configPath.trim() === '') return 'path must not be empty'
  if (path.startsWith('/')) return 'path must be relative'
  return path.includes('..') ? 'path must not be outside the package' : undefined
}

function configProblem(configPath: string, folder: PackageFolder, files: PackageFiles): string | undefined {
  const quoted = JSON.stringify(configPath)
  const path = joinPath(folder.path, cleanPath(configPath))
  const content = files.get(path)
  if (content === undefined)
    return `failed to open functionConfig from path ${quoted}: open ${path}: no such file or directory`
  const documents = yamlDocuments(path, contentOf(path, content)).filter((document) => !document.isEmpty)
  const [config] = documents
  if (config === undefined) return `functionConfig ${quoted} is empty`
  if (documents.length > 1)
    return `functionConfig ${quoted} must not contain more than one config, got ${documents.length}`
  const missing = missingField(config)
  return missing === undefined ? undefined : `functionConfig ${quoted}: resource must have ${missing}`
}

function missingField({ root }: ReturnType<typeof yamlDocuments>[number]): string | undefined {
  if (root === undefined) return '`apiVersion`, `kind`, and `name`'
  if ((textAt(root, 'apiVersion') ?? '') === '') return '`apiVersion`'
  if ((textAt(root, 'kind') ?? '') === '') return '`kind`'
  return (textAt(root, 'metadata', 'name') ?? '') === '' ? '`metadata.name`' : undefined
}

function invalid(field: string, value: string, reason: string): string {
  const line = value === '' ? '' : `Value: ${JSON.stringify(value)}\n`
  return `Kptfile is invalid:\nField: \`${field}\`\n${line}Reason: ${reason}\n`
}
