-- Lmod. Finds multicard relative to itself (PREFIX/share/multicard/modulefiles/lmod/multicard/VERSION.lua):
--   module use PREFIX/share/multicard/modulefiles/lmod && module load multicard
-- Where it is copied into the site's own tree, `prefix` is set to the folder that holds bin/ and share/.
local prefix = myFileName():match("^(.*)/share/multicard/modulefiles/") or "/usr"

help([[
multicard trains image classifiers and fine-tunes language models over the ranks of an MPI job.
LibTorch is found in TORCH_ROOT, or where multicard-setup-libtorch has put it.
Batch scripts: sbatch $MULTICARD_ROOT/slurm/image_one_node.sbatch DECK]])
whatis("Name: multicard")
whatis("Version: " .. myModuleVersion())
whatis("Description: training and tuning of neural networks over the ranks of an MPI job")
conflict("multicard")

prepend_path("PATH", pathJoin(prefix, "bin"))
-- The empty entry keeps the pages of the system.
append_path("MANPATH", "")
prepend_path("MANPATH", pathJoin(prefix, "share/man"))
setenv("MULTICARD_ROOT", pathJoin(prefix, "share/multicard"))
-- As scripts/env.sh: parallel file systems often refuse HDF5's locks; Open MPI before 4.1.7 must lock whole ranges.
pushenv("HDF5_USE_FILE_LOCKING", os.getenv("HDF5_USE_FILE_LOCKING") or "FALSE")
pushenv("OMPI_MCA_fs_ufs_lock_algorithm", os.getenv("OMPI_MCA_fs_ufs_lock_algorithm") or "3")
