// Hosts the documents of a folder behind an APIService of a cluster: in a pod of it, or elsewhere with a kubeconfig.
// With `--rights` it prints the RBAC that it needs and does nothing else.
import { connect } from '@fairlead/client'
import { ExtensionServer, extensionServerRules } from '@fairlead/apiserver'
import { createLogger } from '@fairlead/controller'
import { stringifyYaml } from '@fairlead/kube'
import { Documents, documentsResource } from './documents.ts'
import { group } from './definition.ts'

const namespace = 'documents'
const certificateSecret = { namespace, name: 'documents-tls' }

if (process.argv.includes('--rights')) {
  const serviceAccount = { namespace, name: 'documents' }
  const objects = extensionServerRules({ serviceAccount, apiServices: [`v1.${group}`], certificateSecret })
  process.stdout.write(objects.map((object) => stringifyYaml(object)).join('---\n'))
} else {
  const log = await createLogger()
  const documents = await Documents.open(process.env['DOCUMENTS'] ?? 'documents')
  const server = await ExtensionServer.start({
    client: await connect(),
    resources: [documentsResource(documents)],
    serving: { service: { namespace, name: 'documents' }, certificateSecret },
    log,
    shutdownDelay: 5_000,
  })
  log.info('Served documents', { port: server.port })
  process.once('SIGTERM', () => {
    void server[Symbol.asyncDispose]()
      .then(() => documents[Symbol.asyncDispose]())
      .then(() => process.exit(0))
  })
}
