#%Module
# Environment Modules. Finds multicard relative to itself (PREFIX/share/multicard/modulefiles/tcl/multicard/VERSION):
#   module use PREFIX/share/multicard/modulefiles/tcl && module load multicard
# Where it is copied into the site's own tree, `prefix` is set to the folder that holds bin/ and share/.
if {![regexp {^(.*)/share/multicard/modulefiles/} $ModulesCurrentModulefile -> prefix]} {
  set prefix /usr
}

proc ModulesHelp {} {
  puts stderr "multicard trains image classifiers and fine-tunes language models over the ranks of an MPI job."
  puts stderr "LibTorch is found in TORCH_ROOT, or where multicard-setup-libtorch has put it."
  puts stderr "Batch scripts: sbatch \$MULTICARD_ROOT/slurm/image_one_node.sbatch DECK"
}
module-whatis "training and tuning of neural networks over the ranks of an MPI job"
conflict multicard

prepend-path PATH $prefix/bin
# The empty entry keeps the pages of the system.
append-path MANPATH {}
prepend-path MANPATH $prefix/share/man
setenv MULTICARD_ROOT $prefix/share/multicard
# As scripts/env.sh: parallel file systems often refuse HDF5's locks; Open MPI before 4.1.7 must lock whole ranges.
# The user's own values stay, also when the module is unloaded.
foreach {name value} {HDF5_USE_FILE_LOCKING FALSE OMPI_MCA_fs_ufs_lock_algorithm 3} {
  if {![info exists env($name)] || $env($name) eq $value} {
    setenv $name $value
  }
}
