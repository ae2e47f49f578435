// An APIService that refers to a Service, parsed.

/** An `apiregistration.k8s.io/v1 APIService` that refers to a Service. */
export interface RemoteApiService {
  /** `v1.notes.example.com` */
  readonly name: string
  readonly group: string
  readonly version: string
  readonly service: { readonly namespace: string; readonly name: string; readonly port: number }
  /** PEM; the system's authorities when undefined. */
  readonly ca: string | undefined
  readonly insecure: boolean
}
