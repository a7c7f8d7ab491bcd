// Command step-ca is step-ca from the libraries that Debian packages, which has no program of its own there:
//
//	apt-get install golang-go golang-github-smallstep-certificates-dev
//	GO111MODULE=off GOPATH=/usr/share/gocode go build -o step-ca bench/peers/step-ca.go
package main

import (
	"log"
	"os"

	_ "github.com/smallstep/certificates/cas/softcas"
	"github.com/smallstep/certificates/commands"
	_ "github.com/smallstep/certificates/kms/softkms"
	"github.com/urfave/cli"
)

func main() {
	app := cli.NewApp()
	app.Flags = commands.AppCommand.Flags
	app.Action = commands.AppCommand.Action
	if err := app.Run(os.Args); err != nil {
		log.Fatal(err)
	}
}
