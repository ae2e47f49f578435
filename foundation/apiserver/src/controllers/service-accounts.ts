// Creates the ServiceAccount `default` and the ConfigMap `kube-root-ca.crt`, with the server's certificate authority,
// in every Namespace.
import { ConfigMap, Namespace, ServiceAccount } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isAlreadyExists, isNamespaceTerminating, isNotFound, isTerminating } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { controllerManager, enqueueOn } from './controller-context.ts'
import type { ControllerContext } from './controller-context.ts'

const rootCertificateName = 'kube-root-ca.crt'

const description =
  'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or ' +
  'kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.'

/** Sets up the controller. `rootCertificate` returns the PEM; without it there is no ConfigMap. */
export function setUpServiceAccounts(
  context: ControllerContext,
  rootCertificate: (() => Promise<string>) | undefined,
): void {
  const loop = context.manager.loop<string>({
    name: 'serviceaccount-controller',
    id: (namespace) => namespace,
    concurrency: 5,
    manager: controllerManager,
    run: async (namespace, { client, signal }) => {
      for (const informer of [namespaces, accounts, certificates]) await informer?.waitForState(signal)
      const known = namespaces.lastKnown.get(namespace)
      if (known === undefined || isTerminating(known)) return
      if (accounts.lastKnown.get({ namespace, name: 'default' }) === undefined) {
        await createMissing(
          { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: 'default' } },
          client,
        )
      }
      if (rootCertificate !== undefined) {
        await publish(
          namespace,
          await rootCertificate(),
          certificates?.lastKnown.get({ namespace, name: rootCertificateName }),
          client,
        )
      }
    },
    logFields: (namespace) => ({ namespace }),
  })
  const namespaces = enqueueOn(context, loop, Namespace, ({ type, object }) =>
    type === 'removed' ? [] : [object.metadata.name!],
  )
  const accounts = enqueueOn(
    context,
    loop,
    ServiceAccount,
    ({ type, object }) => (type === 'removed' ? [object.metadata.namespace!] : []),
    {
      fieldSelector: 'metadata.name=default',
    },
  )
  const certificates =
    rootCertificate === undefined
      ? undefined
      : enqueueOn(
          context,
          loop,
          ConfigMap,
          ({ type, object }) => (type === 'added' ? [] : [object.metadata.namespace!]),
          {
            fieldSelector: `metadata.name=${rootCertificateName}`,
          },
        )
}

async function publish(
  namespace: string,
  certificate: string,
  known: ConfigMap | undefined,
  client: Client,
): Promise<void> {
  const data = { 'ca.crt': certificate }
  if (known === undefined) {
    const metadata = { namespace, name: rootCertificateName, annotations: { 'kubernetes.io/description': description } }
    return createMissing({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, client)
  }
  if (known.data?.['ca.crt'] === certificate) return
  await client.update({ ...known, data })
}

async function createMissing(object: KubeObject, client: Client): Promise<void> {
  try {
    await client.create(object)
  } catch (error) {
    if (!isAlreadyExists(error) && !isNotFound(error) && !isNamespaceTerminating(error)) throw error
  }
}
