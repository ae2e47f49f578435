module fairlead.dev/ci/ytt

go 1.23.7

require carvel.dev/ytt v0.51.2
